'use strict';
// The SDK as a server for the tests: a JSON command a line on stdin, a JSON answer a line on stdout.
// An entity is {partitionKey, rowKey, NAME: value, ...}, a value as the SDK takes it, or {type, value}.
const http = require('node:http');
const https = require('node:https');
const readline = require('node:readline');
const { TableClient, TableServiceClient, AzureNamedKeyCredential } = require('@azure/data-tables');

const { SDK_ENDPOINT: endpoint, SDK_ACCOUNT: account, SDK_KEY: key } = process.env;
const credential = new AzureNamedKeyCredential(account, key);
// A connection for each request: the service may close an idle one at the moment when it is used again.
const agent = new (endpoint.startsWith('https:') ? https : http).Agent({ keepAlive: false });
const lonely = { name: 'lonely', sendRequest: (request, next) => next(Object.assign(request, { agent })) };
const options = {
  allowInsecureConnection: true,
  retryOptions: { maxRetries: 0 },
  additionalPolicies: [{ policy: lonely, position: 'perCall' }],
};
const service = new TableServiceClient(endpoint, credential, options);
const table = (name) => new TableClient(endpoint, name, credential, options);

const BATCH_ROWS = 100;

// JSON has no bigint and no bytes: what the SDK would take in their place
function native(value) {
  if (value === null || typeof value !== 'object') return value;
  if (value.type === 'Int64') return BigInt(value.value);
  if (value.type === 'Binary') return Buffer.from(value.value, 'base64');
  return value;
}

function entity(source) {
  return Object.fromEntries(Object.entries(source).map(([name, value]) => [name, native(value)]));
}

function byPartition(entities) {
  const partitions = new Map();
  for (const one of entities) {
    if (!partitions.has(one.partitionKey)) partitions.set(one.partitionKey, []);
    partitions.get(one.partitionKey).push(one);
  }
  return partitions.values();
}

const commands = {
  async createTable({ name }) { await service.createTable(name); },
  async dropTable({ name }) { await service.deleteTable(name); },
  async dropAllTables() {
    const names = [];
    for await (const { name } of service.listTables()) names.push(name);
    for (const name of names) await service.deleteTable(name);
  },
  // One batch that Azurite did not understand makes it refuse every later one.
  async tryBatch() {
    const rows = ['a', 'b'].map((rowKey) => ['upsert', { partitionKey: 'p', rowKey }]);
    await service.createTable('batches');
    await table('batches').submitTransaction(rows);
    await service.deleteTable('batches');
  },
  async insert({ name, entities }) {
    for (const one of entities) await table(name).createEntity(entity(one));
  },
  async batch({ name, entities }) {
    for (const rows of byPartition(entities)) {
      for (let first = 0; first < rows.length; first += BATCH_ROWS) {
        const actions = rows.slice(first, first + BATCH_ROWS).map((row) => ['create', entity(row)]);
        await table(name).submitTransaction(actions);
      }
    }
  },
  async update({ name, entities, mode }) {
    for (const one of entities) await table(name).updateEntity(entity(one), mode);
  },
  async remove({ name, partitionKey, rowKey }) { await table(name).deleteEntity(partitionKey, rowKey); },
  async read({ name }) {
    const rows = [];
    for await (const row of table(name).listEntities({ disableTypeConversion: true })) rows.push(row);
    return rows;
  },
  async keysOf({ name, filters }) {
    const answers = [];
    for (const filter of filters) {
      const keys = [];
      for await (const row of table(name).listEntities({ queryOptions: { filter } })) keys.push([row.partitionKey, row.rowKey]);
      answers.push(keys);
    }
    return answers;
  },
  async readTexts({ name }) {
    const texts = [];
    const onResponse = (answer) => texts.push(answer.bodyAsText);
    for await (const _ of table(name).listEntities({ onResponse })) { /* the texts have all */ }
    return texts;
  },
};

async function main() {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    let answer;
    try {
      const { command, ...rest } = JSON.parse(line);
      answer = { result: (await commands[command](rest)) ?? null };
    } catch (error) {
      answer = { error: `${error.statusCode ?? ''} ${error.code ?? ''} ${error.message}` };
    }
    process.stdout.write(`${JSON.stringify(answer)}\n`);
  }
}

main();
