import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { readConfig } from '../../src/gateway/settings/load-config.ts';
import { openCrib } from '../gateway.ts';
import { ask } from '../security/keyed.ts';

const root = join(import.meta.dirname, '../..');
const read = (name: string): string => readFileSync(join(root, 'deploy', name), 'utf8');

/** A folder for one test. */
function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'toolcrib-deploy-'));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

interface Kubernetes {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly data: Readonly<Record<string, string>>;
  readonly spec: Pod & { readonly replicas: number; readonly strategy: object };
}
interface Pod {
  readonly template: { readonly spec: Record<string, unknown> & { containers: Record<string, never>[] } };
}

const documents = parseAllDocuments(read('kubernetes.yaml'));
const manifest = documents.map((document) => document.toJS() as Kubernetes);
const deployment = manifest.find(({ kind }) => kind === 'Deployment')!;
const pod = deployment.spec.template.spec;
const container = pod.containers[0]! as unknown as {
  readonly ports: readonly { name: string; containerPort: number }[];
  readonly livenessProbe: { httpGet: { path: string; port: string } };
  readonly readinessProbe: { httpGet: { path: string; port: string } };
  readonly securityContext: object;
  readonly volumeMounts: readonly { name: string; mountPath: string }[];
};

test('the configurations of the deployment files are valid', async () => {
  const config = manifest.find(({ kind }) => kind === 'ConfigMap')!.data['toolcrib.yaml']!;
  const file = join(folder(), 'toolcrib.yaml');
  for (const text of [config, read('toolcrib.yaml')]) {
    writeFileSync(file, text);
    const { loaded, complaints } = await readConfig(file);
    expect(complaints).toEqual([]);
    // Nothing is written beside the configuration, which is mounted for reading.
    const { store, stages, server } = loaded!.config;
    const { checkpoints } = stages.audit as { checkpoints: readonly string[] };
    const places = [store.url.replace('sqlite:', ''), store.secrets, ...checkpoints];
    expect(places.filter((place) => !place.startsWith('/var/lib/toolcrib/'))).toEqual([]);
    expect(server.listen.port).toBe(container.ports[0]!.containerPort);
    expect(server.drainSeconds).toBeLessThan(pod['terminationGracePeriodSeconds'] as number);
  }
});

test('the manifest runs one pod as non-root, and replaces it without running two at once', () => {
  expect(documents.flatMap(({ errors, warnings }) => [...errors, ...warnings])).toEqual([]);
  expect(manifest.map(({ kind, metadata }) => [kind, metadata.name])).toEqual([
    ['ConfigMap', 'toolcrib'],
    ['PersistentVolumeClaim', 'toolcrib'],
    ['Deployment', 'toolcrib'],
    ['Service', 'toolcrib'],
  ]);
  expect(deployment.spec).toMatchObject({ replicas: 1, strategy: { type: 'Recreate' } });
  expect(pod['securityContext']).toMatchObject({
    runAsNonRoot: true,
    runAsUser: 1000,
    fsGroupChangePolicy: 'OnRootMismatch',
  });
  expect(container.securityContext).toMatchObject({
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
  });
  const volumes = (pod['volumes'] as readonly { name: string }[]).map(({ name }) => name);
  expect(container.volumeMounts.map(({ name }) => name)).toEqual(volumes);
});

test('the probes of the manifest get responses when sent as the kubelet does', async () => {
  const crib = await openCrib({ config: { server: { publicUrl: 'https://tools.acme.example' } } });
  const headers = { host: '10.42.0.17:8484', 'user-agent': 'kube-probe/1.32', connection: 'close' };
  for (const { httpGet } of [container.livenessProbe, container.readinessProbe]) {
    expect(httpGet.port).toBe(container.ports[0]!.name);
    expect((await ask(crib, { method: 'GET', path: httpGet.path, headers })).status).toBe(200);
  }
  expect((await ask(crib, { headers })).status).toBe(403);
});

test.skipIf(spawnSync('systemd-analyze', ['--version']).status !== 0)(
  'systemd accepts the unit without warnings, and rates its sandbox as good',
  () => {
    const file = join(folder(), 'toolcrib.service');
    // The program of the unit must be there, or that is all systemd says.
    writeFileSync(file, read('toolcrib.service').replace('/usr/bin/node', process.execPath));
    const verified = spawnSync('systemd-analyze', ['verify', file], { encoding: 'utf8', timeout: 15_000 });
    expect([
      verified.status,
      verified.stderr.split('\n').filter((line) => line.includes('toolcrib')),
    ]).toEqual([0, []]);
    const rated = spawnSync('systemd-analyze', ['security', '--offline=true', '--threshold=25', file], {
      encoding: 'utf8',
      timeout: 15_000,
    });
    expect([rated.status, rated.stdout.split('\n').at(-2)]).toEqual([0, expect.stringContaining('OK')]);
    // Control: systemd reports an unknown key.
    writeFileSync(file, read('toolcrib.service').replace('[Service]', '[Service]\nDrainSeconds=3'));
    const { stderr } = spawnSync('systemd-analyze', ['verify', file], { encoding: 'utf8', timeout: 15_000 });
    expect(stderr).toContain('DrainSeconds');
  },
);

test('the unit gives the server enough time to stop, and enough file descriptors for its connections', async () => {
  const file = join(folder(), 'toolcrib.yaml');
  writeFileSync(file, read('toolcrib.yaml'));
  const { drainSeconds, maxConnections } = (await readConfig(file)).loaded!.config.server;
  const number = (key: string): number =>
    Number(new RegExp(`^${key}=(\\d+)$`, 'm').exec(read('toolcrib.service'))![1]);
  expect(number('TimeoutStopSec')).toBeGreaterThan(drainSeconds + 10);
  expect(number('LimitNOFILE')).toBeGreaterThan(maxConnections);
});
