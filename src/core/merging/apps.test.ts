import { expect, test } from 'vitest';
import { localCaller } from '../caller.ts';
import type { Result } from '../result.ts';
import { appsOf, ReadApps, withShownAddresses, withShownApps } from './apps.ts';

const PAGE = 'ui://app/main.html';
const toShown = (uri: string): string => uri.replace('://app/', '://web/app/');

test('the app of a tool is found in either spelling, and only where it is the address of an app', () => {
  expect(appsOf({ _meta: { ui: { resourceUri: PAGE } } })).toEqual([PAGE]);
  expect(appsOf({ _meta: { 'ui/resourceUri': PAGE } })).toEqual([PAGE]);
  expect(appsOf({})).toEqual([]);
  for (const odd of ['https://app/main.html', 'UI://app', 7, null, [PAGE]])
    expect(appsOf({ _meta: { ui: { resourceUri: odd }, 'ui/resourceUri': odd } })).toEqual([]);
  for (const ui of [PAGE, [PAGE], null]) expect(appsOf({ _meta: { ui } })).toEqual([]);
});

test('only addresses of apps are renamed in `_meta`, and what is beside them stays', () => {
  const meta = { ui: { resourceUri: PAGE, visibility: ['model'] }, 'ui/resourceUri': PAGE, own: PAGE };
  const shown = 'ui://web/app/main.html';
  expect(withShownApps(meta, toShown)).toEqual({
    ui: { resourceUri: shown, visibility: ['model'] },
    'ui/resourceUri': shown,
    own: PAGE,
  });
  for (const other of [
    {},
    { ui: { resourceUri: 'ui://other/x' } },
    { ui: 'ui://app/x' },
    { 'ui/resourceUri': 7 },
  ])
    expect(withShownApps(other, toShown)).toBe(other);
});

test('a result of which nothing is renamed stays the same object, whatever a server wrote as an address', () => {
  const odd: unknown = {
    kind: 'done',
    content: [
      { type: 'text', text: PAGE },
      { type: 'resource_link', uri: 7, name: 'odd' },
      { type: 'resource', resource: PAGE },
      { type: 'resource', resource: { uri: null } },
      { type: 'resource_link', uri: 'note://else', name: 'else' },
    ],
    meta: { ui: null },
  };
  expect(withShownAddresses(odd as Result, toShown)).toBe(odd);
});

test('whose app was read is remembered for each caller, and not for another one of the same name', () => {
  const apps = new ReadApps();
  const ofTenant = (id: string) => ({ ...localCaller, tenant: { ...localCaller.tenant, id } });
  apps.note(ofTenant('a'), 'web');
  apps.note(ofTenant('a'), 'notes');
  expect([...apps.of(ofTenant('a'))]).toEqual(['web', 'notes']);
  expect([...apps.of(ofTenant('b'))]).toEqual([]);
});
