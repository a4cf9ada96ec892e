"""Answers that the proxy makes by itself, in the service's form."""
import http.client
import json
import uuid

import wire

CHALLENGE = (
    "Bearer authorization_uri=https://login.microsoftonline.com/00000000-0000-0000-0000-000000000000/oauth2/authorize "
    "resource_id=https://storage.azure.com"
)


def _error_body(code, text, date):
    message = {"lang": "en-US", "value": f"{text}\nRequestId:{uuid.uuid4()}\nTime:{date}"}
    return json.dumps({"odata.error": {"code": code, "message": message}}).encode()


def error(status, code, text, date, retry_after_sec=0):
    headers = {
        "content-type": "application/json;odata=minimalmetadata;streaming=true;charset=utf-8",
        "x-ms-version": "2020-12-06",
        "x-ms-request-id": str(uuid.uuid4()),
        "x-ms-error-code": code,
        "date": date,
    }
    if retry_after_sec:
        headers["retry-after"] = str(retry_after_sec)
    if status == 401:
        headers["www-authenticate"] = CHALLENGE
    return wire.Answer(status, headers, _error_body(code, text, date))


def batch_error(status, code, text, date, index=None):
    """The answer of a batch of which one operation failed."""
    part = uuid.uuid4()
    inner = "\r\n".join(
        [
            f"--batchresponse_{part}",
            f"Content-Type: multipart/mixed; boundary=changesetresponse_{part}",
            "",
            f"--changesetresponse_{part}",
            "Content-Type: application/http",
            "Content-Transfer-Encoding: binary",
            "",
            f"HTTP/1.1 {status} {http.client.responses[status]}",
            "X-Content-Type-Options: nosniff",
            "DataServiceVersion: 3.0;",
            "Content-Type: application/json;odata=minimalmetadata;streaming=true;charset=utf-8",
            "",
            _error_body(code, text if index is None else f"{index}:{text}", date).decode(),
            f"--changesetresponse_{part}--",
            f"--batchresponse_{part}--",
            "",
        ]
    )
    headers = {
        "content-type": f"multipart/mixed; boundary=batchresponse_{part}",
        "x-ms-version": "2020-12-06",
        "x-ms-request-id": str(uuid.uuid4()),
        "date": date,
    }
    return wire.Answer(202, headers, inner.encode())


def empty_page(answer, token):
    """The page without its rows."""
    body = json.loads(answer.body)
    body["value"] = []
    return token_page(answer, json.dumps(body), token)


def token_page(answer, text, token):
    """The page with this text and a token, {name: value}."""
    headers = {name: value for name, value in answer.headers.items() if not name.startswith("x-ms-continuation-")}
    page = wire.Answer(answer.status, headers)
    return page.changed(text.encode(), {f"x-ms-continuation-{name}": value for name, value in token.items()})
