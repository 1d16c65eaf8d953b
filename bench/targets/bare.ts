import { createServer } from 'node:http';
import { bareAnswers, type Call } from './bare-answer.ts';
import { readJson, writeJson } from './bare-body.ts';
import { announce, portOf, targetOptions } from './target.ts';

const answer = bareAnswers(targetOptions().answers);

const server = createServer((request, response) => {
  readJson(request, (call) => writeJson(response, answer(call as Call)));
});

server.listen(0, '127.0.0.1', () => announce(portOf(server)));
