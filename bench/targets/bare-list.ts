import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { readJson, writeJson } from './bare-body.ts';
import { announce, portOf, targetOptions } from './target.ts';

const { answers } = targetOptions();
if (answers === undefined) throw new Error('The bare list needs the answer of toolcrib.');
const list = readFileSync(answers);

const server = createServer((request, response) => {
  readJson(request, () => writeJson(response, list));
});

server.listen(0, '127.0.0.1', () => announce(portOf(server)));
