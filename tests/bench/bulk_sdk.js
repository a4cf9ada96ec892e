'use strict';
// What a program with the SDK does: reads a table page after page, or writes it by transactions of 100, one after the other.
// argv: list TABLE, or load TABLE NEW-TABLE. Prints rows, requests and seconds as JSON; of load without the reading.
const { TableClient, AzureNamedKeyCredential } = require('@azure/data-tables');

const { SDK_ENDPOINT: endpoint, SDK_ACCOUNT: account, SDK_KEY: key, SDK_LATENCY_MS: latencyMs } = process.env;
let requests = 0;
const late = {
  name: 'late',
  async sendRequest(request, next) {
    requests += 1;
    if (Number(latencyMs)) await new Promise((resolve) => { setTimeout(resolve, Number(latencyMs)); });
    return next(request);
  },
};
const options = { allowInsecureConnection: true, additionalPolicies: [{ policy: late, position: 'perCall' }] };
const table = (name) => new TableClient(endpoint, name, new AzureNamedKeyCredential(account, key), options);

async function list(name) {
  const rows = [];
  for await (const row of table(name).listEntities({ disableTypeConversion: true })) rows.push(row);
  return rows;
}

// in the order of the keys: up to 100 rows of one partition
function transactions(rows) {
  const groups = [];
  for (const row of rows) {
    const last = groups.at(-1);
    if (last && last.length < 100 && last[0][1].partitionKey === row.partitionKey) last.push(['upsert', row, 'Replace']);
    else groups.push([['upsert', row, 'Replace']]);
  }
  return groups;
}

async function main([command, from, to]) {
  let begin = process.hrtime.bigint();
  const rows = await list(from);
  if (command === 'load') {
    await table(to).createTable();
    const groups = transactions(rows);
    [requests, begin] = [0, process.hrtime.bigint()];
    for (const group of groups) await table(to).submitTransaction(group);
  }
  const seconds = Number(process.hrtime.bigint() - begin) / 1e9;
  process.stdout.write(JSON.stringify({ rows: rows.length, requests, seconds }));
}

main(process.argv.slice(2));
