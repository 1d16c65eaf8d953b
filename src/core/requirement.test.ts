import { expect, test } from 'vitest';
import type { Question } from './question.ts';
import { canDo, capabilitiesFor, requirementOf } from './requirement.ts';
import type { Requirement } from './tool.ts';

const TASKS = { 'io.modelcontextprotocol/tasks': {} };

test.each<[capabilities: Record<string, unknown>, can: readonly Requirement[]]>([
  [{}, []],
  [{ elicitation: {} }, ['elicitation']],
  [{ elicitation: { form: {} } }, ['elicitation']],
  [{ elicitation: { url: {} } }, ['elicitation.url']],
  [{ elicitation: { form: {}, url: {} } }, ['elicitation', 'elicitation.url']],
  [{ elicitation: { applyDefaults: true } }, ['elicitation']],
  [{ sampling: {} }, ['sampling']],
  [{ roots: { listChanged: true } }, ['roots']],
  [{ extensions: TASKS }, ['tasks']],
  [{ tasks: {} }, []],
  [{ elicitation: true, sampling: null, roots: 'yes', extensions: [] }, []],
])('a client that declares %j has the capabilities %j', (capabilities, can) => {
  const all: Requirement[] = ['elicitation', 'elicitation.url', 'sampling', 'roots', 'tasks'];
  expect(all.filter((requirement) => canDo(capabilities, requirement))).toEqual(can);
});

test.each<[missing: readonly Requirement[], needed: Record<string, unknown>]>([
  [[], {}],
  [['elicitation'], { elicitation: {} }],
  [['elicitation.url'], { elicitation: { url: {} } }],
  [['sampling', 'roots', 'tasks'], { sampling: {}, roots: {}, extensions: TASKS }],
])('the capabilities that a client lacks for %j are %j', (missing, needed) => {
  expect(capabilitiesFor(missing)).toEqual(needed);
});

test.each<readonly Requirement[][]>([
  [['elicitation', 'elicitation.url']],
  [['elicitation.url', 'elicitation']],
  [['elicitation', 'elicitation.url', 'sampling', 'roots', 'tasks']],
])('a client that declares the missing capabilities has all of %j', (missing) => {
  const needed = capabilitiesFor(missing);
  expect(missing.filter((requirement) => !canDo(needed, requirement))).toEqual([]);
});

test.each<[question: Question, requirement: Requirement]>([
  [{ kind: 'form', message: '', schema: {} }, 'elicitation'],
  [{ kind: 'url', message: '', url: '' }, 'elicitation.url'],
  [{ kind: 'sample', params: {} }, 'sampling'],
  [{ kind: 'roots' }, 'roots'],
])('the question %j requires %s', (question, requirement) => {
  expect(requirementOf(question)).toBe(requirement);
});
