import { createServer } from 'node:http';
import { writeJson } from './bare-body.ts';
import { peerAnswer } from './peer-answer.ts';
import { announce, portOf } from './target.ts';

const server = createServer((request, response) => {
  if (request.method !== 'POST') {
    response.writeHead(405).end();
    return;
  }
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const answer = peerAnswer(Buffer.concat(chunks).toString());
    if (answer === undefined) response.writeHead(202).end();
    else writeJson(response, answer);
  });
});

server.listen(0, '127.0.0.1', () => announce(portOf(server)));
