// Runs commands one after another, each as if it had the process to itself: starting one takes ten times as long.
import { pathToFileURL } from 'node:url';

const cli = pathToFileURL(process.argv[2]).href;
let last = Promise.resolve();

process.on('message', (request) => {
  last = last.then(() => run(request)).then((ended) => process.send(ended));
});
process.on('disconnect', () => end());

const end = process.exit;
class Exit extends Error {}

// A command ends by itself; what is left of it is told to end later, when the process is another's.
process.exit = (code) => {
  if (code === undefined) return;
  process.exitCode = code;
  throw new Exit();
};

async function run({ id, args, env }) {
  process.argv = [process.execPath, process.argv[1], ...args];
  process.env = env;
  process.exitCode = undefined;
  const taken = [take(process.stdout), take(process.stderr)];
  try {
    // Another address is another module to Node.js, but what it imports is loaded already.
    await import(`${cli}?run=${id}`);
  } catch (error) {
    if (!(error instanceof Exit)) process.stderr.write(`${error.stack}\n`);
    process.exitCode ??= 1;
  }
  const [output, complaints] = taken.map((release) => release());
  return { id, code: process.exitCode ?? 0, output, complaints };
}

function take(stream) {
  const { write } = stream;
  let text = '';
  stream.write = (chunk, ...more) => {
    text += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString();
    const done = more.at(-1);
    if (typeof done === 'function') setImmediate(() => done());
    return true;
  };
  return () => {
    stream.write = write;
    stream.removeAllListeners('error');
    return text;
  };
}
