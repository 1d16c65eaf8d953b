import { expect, test } from 'vitest';
import { ToolcribError } from '../../base/errors.ts';
import { Cancelled, HttpFailure, ProgramEnded, RemoteError, SignInNeeded, ToolTimeout } from '../errors.ts';
import { isOldServer } from './discovery.ts';

const refused = (code?: unknown): RemoteError => new RemoteError({ code, message: 'No.' });
const failed = (status: number): HttpFailure => new HttpFailure(status, 'No.');

test.each<[what: string, error: Error]>([
  ['does not know the method', refused(-32601)],
  ['does not know the revision', refused(-32022)],
  ['wants a session first', refused(-32600)],
  ['gives no number', refused()],
  ['has nothing at that address', failed(404)],
  ['takes no such request', failed(400)],
  ['takes no POST', failed(405)],
  ['answers with something else', new ToolcribError('invalid_answer', 'That is no JSON.')],
])('a server that %s may be of the era with a handshake', (_, error) => {
  expect(isOldServer(error)).toBe(true);
});

test.each<[what: string, error: unknown]>([
  ['wants other headers', refused(-32020)],
  ['wants a client that can do more', refused(-32021)],
  ['is asked too often', failed(429)],
  ['is broken', failed(500)],
  ['is away behind its proxy', failed(503)],
  ['redirects', failed(302)],
  ['is slow', new ToolTimeout('Late.')],
  ['wants a sign-in', new SignInNeeded('Sign in.', 'toolcrib login')],
  ['is a program that ended', new ProgramEnded('It ended.', '')],
  ['was given up', new Cancelled()],
  ['cannot be reached', new ToolcribError('upstream_unavailable', 'It is away.')],
  ['was asked by code with a mistake', new TypeError('x is not a function')],
])('that a server %s says nothing about what it speaks', (_, error) => {
  expect(isOldServer(error)).toBe(false);
});
