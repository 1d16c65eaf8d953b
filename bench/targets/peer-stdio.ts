import { peerAnswer } from './peer-answer.ts';
import { live } from './target.ts';

let rest = '';
process.stdin.setEncoding('utf8');
process.stdin.on('data', (chunk: string) => {
  const lines = (rest + chunk).split('\n');
  rest = lines.pop() ?? '';
  const answers = lines.flatMap((line) => peerAnswer(line) ?? []);
  if (answers.length > 0) process.stdout.write(`${answers.join('\n')}\n`);
});
process.stdin.on('end', () => process.exit());
live();
