import { bareAnswers, type Call } from './bare-answer.ts';
import { live, targetOptions } from './target.ts';

const { answers, write } = targetOptions();
const answer = bareAnswers(answers);

let rest = '';
process.stdin.setEncoding('utf8');
process.stdin.on('data', (chunk: string) => {
  const lines = (rest + chunk).split('\n');
  rest = lines.pop() ?? '';
  if (write === 'chunk') {
    if (lines.length > 0) process.stdout.write(lines.map(answerLine).join(''));
    return;
  }
  for (const line of lines) process.stdout.write(answerLine(line));
});
live();

function answerLine(line: string): string {
  return `${answer(JSON.parse(line) as Call)}\n`;
}
