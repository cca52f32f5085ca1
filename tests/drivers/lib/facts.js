// facts: how the JavaScript programs print their transcripts: sections of facts, one fact a line.
'use strict';
const crypto = require('crypto');
const fs = require('fs');
const path = require('path');
const util = require('util');

function write(line) {
  fs.writeSync(1, line + '\n');
}

function show(value) {
  return util.inspect(value, { depth: 9, breakLength: Infinity, compact: true, maxArrayLength: 200, maxStringLength: 400 });
}

exports.section = (name) => write('== ' + name);
exports.fact = (name, value) => write((name + ': ' + (typeof value === 'string' ? value : show(value))).replace(/\n/g, '\\n'));

// A large value as its length, both ends and a checksum.
exports.digest = (data) => `${data.length} long, ${show(data.slice(0, 8))}…${show(data.slice(-8))}, md5 ${crypto.createHash('md5').update(data).digest('hex')}`;

// ask(name, f): prints what f resolves to, or the error as describe(error) has it; null: the program ends.
exports.asking = (describe) => async (name, f) => {
  try {
    exports.fact(name, await f());
  } catch (e) {
    const text = describe(e);
    if (text === null) throw e;
    exports.fact(name, text);
  }
};

// [type, text or null] of the table `values` beside this file.
exports.values = () => fs.readFileSync(path.join(__dirname, 'values'), 'utf8').split('\n').filter((line) => line && !line.startsWith('#')).map((line) => {
  const [type, , text] = line.split('\t');
  return [type, text === '\\N' ? null : text];
});

exports.FIELDS = ['severity', 'message', 'detail', 'hint', 'position'];
