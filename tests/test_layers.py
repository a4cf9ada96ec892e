#!/usr/bin/python3
"""The layering test finds what it is there to find: each violation, planted in a copy of a tree that has none."""
import pathlib
import unittest

import planted

LAYERS = pathlib.Path(__file__).with_name("layers")

GOOD = {
    "client/base/bytes.h": "#include <stddef.h>\n",
    "client/store/table_store.h": '#include "client/base/bytes.h"\n',
    "client/http/http.c": '#include "client/http/http.h"\n#include <curl/curl.h>\n#include <openssl/ssl.h>\n',
    "client/http/http.h": "#include <cjson/cJSON.h>\n",
    "client/text/digest.h": "",
    "client/base/clock.c": '// #include "fs/base/log.h"\n/* #include "fs/base/log.h" */\nconst char *s = "/*";\n#include <time.h>\n',
    "cache/account.h": '#include "client/store/table_store.h"\n',
    "cache/account.c": '#include "cache/account.h"\n',
    "fs/base/log.h": "",
    "fs/base/say.c": "void say(void) { fwrite(text, 1, n, stderr); snprintf(text, n, x); }\n",
    "fs/mount/session.c": '#include "fs/base/log.h"\n#include "cache/account.h"\n#include "client/text/digest.h"\n'
    "#include <fuse_lowlevel.h>\n",
    "fs/verbs/check.c": '#include "client/local/local_check.h"\n',
    "client/local/local_check.h": "",
    "fs/source/mount_source.c": '#include "client/azure/azure_store.h"\n#include "client/store/counting_store.h"\n',
}

BAD = [
    ("client/planted.c", '#include "cache/account.h"', "is above client/"),
    ("client/planted.h", "#include <fs/base/log.h>", "is above client/"),
    ("cache/scan/planted.c", '#include "fs/base/log.h"', "is above cache/"),
    ("cache/planted.c", "  #  include <fuse_lowlevel.h>", "belongs to fs/"),
    ("client/planted.c", "#include <fuse3/fuse.h>", "belongs to fs/"),
    ("cache/planted.c", "#include <curl/curl.h>", "belongs to client/"),
    ("fs/planted.c", "#include <openssl/sha.h>", "belongs to client/"),
    ("fs/planted.c", "#include <cjson/cJSON.h>", "belongs to client/"),
    ("fs/planted.c", "#include <sqlite3.h>", "belongs to client/"),
    ("fs/planted.c", '#include "cache/scan/scan.h"', "is not for fs/"),
    ("fs/planted.c", '#include "client/store/table_store.h"', "is not for fs/"),
    ("fs/ops/planted.c", '#include "client/azure/azure_store.h"', "is not for fs/"),
    ("fs/verbs/command.h", '#include "client/azure/azure_store.h"', "is not for fs/"),
    ("fs/source/mount_source.c", '#include "cache/scan/scan.h"', "is not for fs/"),
    ("fs/planted.c", '#include "client/local/local_check.h"', "is not for fs/"),
    ("fs/verbs/check.c", '#include "client/local/local_store.h"', "is not for fs/"),
    ("cache/planted.c", '#include "client/http/http.h"', "named by what wires stores alone"),
    ("client/planted.c", '#include "client/http/http.h"', "named by what wires stores alone"),
    ("client/planted.c", '#include "../fs/base/log.h"', "does not begin at the root"),
    ("client/http/planted.c", '#include "http.h"', "does not name its folder"),
    ("client/planted.c", "#include HEADER", "not spelled out"),
    ("client/planted.c", '#include \\\n"fs/base/log.h"', "is above client/"),
    ("client/planted.c", '/* comment */ #include "fs/base/log.h"', "is above client/"),
    ("fs/verbs/planted.c", '(void)fprintf(stderr, "%s", text);', "is for fs/base/say.c alone"),
    ("fs/planted.c", 'int main(void) { printf ("%s", text); }', "is for fs/base/say.c alone"),
    ("cache/planted.c", "puts(text);", "is for fs/base/say.c alone"),
    ("fs/planted.c", 'syslog(LOG_NOTICE, "%s", text);', "is for fs/base/say.c alone"),
]


def check(extra):
    return planted.check(LAYERS, {**GOOD, **extra})


class LayersTest(unittest.TestCase):
    def test_a_good_tree_passes(self):
        done = check({})
        self.assertEqual((done.returncode, done.stdout), (0, ""))

    def test_each_violation_is_found(self):
        for source, line, said in BAD:
            with self.subTest(source=source, line=line):
                done = check({source: GOOD.get(source, "") + "int x;\n" + line + "\n"})
                self.assertEqual(
                    (done.returncode, len(done.stdout.splitlines())), (1, 1), done.stdout
                )
                self.assertIn(source, done.stdout)
                self.assertIn(said, done.stdout)

    def test_a_tree_without_sources_is_no_success(self):
        self.assertEqual(planted.check(LAYERS, {}).returncode, 1)


if __name__ == "__main__":
    unittest.main()
