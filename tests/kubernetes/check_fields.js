// Compares Kubernetes' resources with the types of its API: node check_fields.js < LIST-AS-JSON
// Writes a list: what is wrong with each of them.
"use strict";
const fs = require("fs");

// The type reads each field that it has. A field that is not read, it does not know.
function watched(value, path, unread) {
    if (typeof value !== "object" || value === null) return value;
    const copy = Array.isArray(value) ? [] : {};
    for (const [name, field] of Object.entries(value)) {
        copy[name] = watched(field, `${path}/${name}`, unread);
        unread.add(`${path}/${name}`);
    }
    return new Proxy(copy, {
        get(target, name) {
            unread.delete(`${path}/${String(name)}`);
            return target[name];
        },
    });
}

function faults(resource) {
    const unread = new Set();
    const { apiVersion, kind } = resource;
    const type = require(`kubernetes-models/${apiVersion}/${kind}`)[kind];
    try {
        type.prototype.validate.call(watched(resource, kind, unread));
    } catch (error) {
        return [error.message];
    }
    return [...unread].map((field) => `${field} is unknown`);
}

console.log(JSON.stringify(JSON.parse(fs.readFileSync(0)).map(faults)));
