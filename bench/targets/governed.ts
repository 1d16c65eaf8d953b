import { join } from 'node:path';
import { createGateway, loadConfig } from 'toolcrib/gateway';
import { announce, targetOptions } from './target.ts';

const { deployment } = targetOptions();
if (deployment === undefined) throw new Error('A governed target needs a deployment.');
const gateway = await createGateway(await loadConfig(join(deployment, 'toolcrib.yaml')), {
  version: '1.0.0',
});
const { url } = await gateway.listen();
announce(Number(new URL(url).port));
