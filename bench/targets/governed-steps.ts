import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { createServer, type Stage, ToolRegistry, withStages } from 'toolcrib';
import { loadConfig, openSecrets, openSqliteStore } from 'toolcrib/gateway';
import { createKeySignIn, listen } from 'toolcrib/node';
import {
  type Access,
  audit,
  concurrency,
  createAccess,
  type Journal,
  metrics,
  Metrics,
  rateLimit,
  sanitize,
  sanitizeInput,
  timeout,
  validateInput,
  validateOutput,
} from 'toolcrib/stages';
import { benchTools } from './bench-tools.ts';
import { announce, type LineStep, lineSteps, targetOptions } from './target.ts';

// Without this some processes, by chance, wait far too long for the disk; `toolcrib serve` was never seen to.
setFlagsFromString('--no-allocation-site-pretenuring');

// The stages of a gateway up to a step, in its order; the rest of the server is as a gateway makes it.
const options = targetOptions();
const { deployment, step = 'audit' } = options;
if (deployment === undefined) throw new Error('A governed target needs a deployment.');
const { config } = await loadConfig(join(deployment, 'toolcrib.yaml'));
const secrets = openSecrets(join(deployment, 'toolcrib.secrets'));
const store = await openSqliteStore({
  file: join(deployment, 'toolcrib.db'),
  signingKey: secrets.signingKey,
  checkpointFiles: [join(deployment, 'toolcrib.checkpoints')],
});
// A journal that keeps nothing: what is left is what making the rows costs.
const forgetful: Journal = {
  isReady: true,
  append: () => Promise.resolve(),
  commit: () => Promise.resolve('committed'),
};

const access = has('access') ? await createAccess(config.access ?? []) : undefined;

const registry = new ToolRegistry();
for (const tool of benchTools({ ...options, readOnly: true })) registry.registerTool(tool);
const signIn = createKeySignIn({ identities: store.identities, pepper: secrets.pepper });
const server = createServer({
  name: 'bench',
  version: '1.0.0',
  source: withStages(registry, line(access)),
  authenticate: signIn.authenticate,
  memory: store.memory,
});
const http = await listen(server, { host: '127.0.0.1', port: 0, path: '/mcp' });
announce(Number(new URL(http.url).port));

function has(wanted: LineStep): boolean {
  return lineSteps.indexOf(wanted) <= lineSteps.indexOf(step);
}

function line(rules: Access | undefined): Stage[] {
  const limits = config.stages;
  const journal = options.journal === 'memory' ? forgetful : store.journal;
  return [
    has('metrics') && metrics({}, { metrics: new Metrics() }),
    has('audit') && audit({}, { journal, digestKey: secrets.digestKey }),
    has('limits') && limits.rateLimit && rateLimit(limits.rateLimit),
    rules?.byName,
    has('sanitizeInput') && sanitizeInput(),
    validateInput,
    rules?.byCondition,
    validateOutput,
    has('sanitize') && sanitize(),
    has('limits') && limits.concurrency && concurrency(limits.concurrency),
    timeout(),
  ].filter((stage) => stage !== undefined && stage !== false);
}
