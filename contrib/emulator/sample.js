'use strict';
// A small account to look at: sample.js ENDPOINT KEY. Running it again changes nothing.
const { TableClient, AzureNamedKeyCredential } = require('@azure/data-tables');

const [endpoint, key] = process.argv.slice(2);
const credential = new AzureNamedKeyCredential('devstoreaccount1', key);

const int64 = (value) => BigInt(value);
const double = (value) => ({ type: 'Double', value });
const guid = (value) => ({ type: 'Guid', value });

// PartitionKey, RowKey, properties
const tables = {
  packages: [
    ['Newtonsoft.Json', '12.0.3', { Downloads: int64('987654321012'), Listed: true, Size: 2596051 }],
    ['Newtonsoft.Json', '13.0.1', { Downloads: int64('1234567890123'), Listed: true, Size: 2065787 }],
    ['Newtonsoft.Json', '13.0.2-beta1', { Downloads: int64('4215530'), Listed: false, Size: 2071300 }],
    ['Serilog', '3.1.1', { Downloads: int64('250112044'), Listed: true, Size: 492018 }],
    ['Serilog', '4.0.0', { Downloads: int64('99038110'), Listed: true, Size: 537624 }],
    ['zlib', '1.3.1', { Downloads: int64('31100412'), Listed: true, Size: 410553, Note: 'stands "alone"\nin its partition' }],
  ],
  orders: [
    ['ada', '2024-0001', {
      Placed: new Date('2024-05-06T07:08:09.120Z'), // DateTime
      Total: double(99.5), // Double
      Items: 3, // Int32
      Number: int64('9007199254740993'), // Int64, one more than a double can hold
      Reference: guid('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'), // Guid
      Paid: true, // Boolean
      Receipt: new Uint8Array([0x50, 0x44, 0x46]), // Binary
      Note: 'leave it with the neighbour, 2nd floor', // String
    }],
    ['ada', '2024-0002', { Total: double(12), Items: 1, Paid: false }],
    ['grace', '2024-0001', { Total: double(250.25), Items: 12, Paid: true }],
    ['日本', '2024-0001', { Total: double(7300), Items: 2, Paid: true, Note: 'お届け 😀' }],
  ],
  keys: [
    ['', 'an empty PartitionKey'],
    ['rows', ''],
    ['rows', "it's"],
    ['rows', '"quoted"'],
    ['rows', '100%'],
    ['rows', 'a%2Fb'],
    ['rows', ' spaces '],
    ['rows', '.hidden'],
    ['rows', '😀'],
    ['rows', '*.txt'],
    ['rows', 'long-'.repeat(100)],
    ['C++', 'a plus at the end'],
    ['.net', 'a leading dot'],
  ],
};

async function load(name, rows) {
  const table = new TableClient(endpoint, name, credential, { allowInsecureConnection: true });
  await table.createTable(); // that it exists already is no error
  for (const [partitionKey, rowKey, properties] of rows) {
    await table.upsertEntity({ partitionKey, rowKey, ...properties }, 'Replace');
  }
}

Promise.all(Object.entries(tables).map(([name, rows]) => load(name, rows))).catch((error) => {
  console.error(`cannot load the sample account: ${error.message}`);
  process.exitCode = 1;
});
