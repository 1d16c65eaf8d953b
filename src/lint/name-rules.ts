import type { ListedTool } from '../core/tool.ts';
import { remarkIf, type Remark, type Rule } from './finding.ts';
import { readsLikeVerb, wordsOf } from './name-words.ts';

/** What a name must be so that clients accept it and models understand it. */
export const nameRules: readonly Rule[] = [
  { id: 'name-characters', check: checkCharacters },
  { id: 'name-length', check: checkLength },
  { id: 'name-dots', check: checkDots },
  { id: 'name-verb', check: checkVerb },
  { id: 'name-abbreviation', check: checkAbbreviations },
];

const LONGEST = 64;
// Hosts prefix the server's name, and their limit applies to both together.
const LONGEST_WITH_PREFIX = 40;

const WRITTEN_OUT: Readonly<Record<string, string>> = {
  acct: 'account',
  addr: 'address',
  amt: 'amount',
  appt: 'appointment',
  attr: 'attribute',
  bldg: 'building',
  btn: 'button',
  calc: 'calculate',
  cfg: 'configuration',
  cmd: 'command',
  cnt: 'count',
  cust: 'customer',
  del: 'delete',
  dept: 'department',
  desc: 'description',
  dest: 'destination',
  dir: 'folder',
  emp: 'employee',
  env: 'environment',
  evt: 'event',
  exec: 'execute',
  gen: 'generate',
  img: 'image',
  inv: 'invoice',
  lst: 'list',
  mgr: 'manager',
  msg: 'message',
  msgs: 'messages',
  num: 'number',
  obj: 'object',
  ord: 'order',
  params: 'parameters',
  pkg: 'package',
  prod: 'product',
  proc: 'process',
  pwd: 'password',
  qry: 'query',
  qty: 'quantity',
  recv: 'receive',
  req: 'request',
  resp: 'response',
  rm: 'remove',
  srch: 'search',
  stmt: 'statement',
  svc: 'service',
  tbl: 'table',
  tmp: 'temporary',
  txn: 'transaction',
  txt: 'text',
  upd: 'update',
  usr: 'user',
  val: 'value',
};

function checkCharacters({ name }: ListedTool): readonly Remark[] {
  return remarkIf(!/^[A-Za-z0-9_.-]+$/.test(name), {
    severity: 'error',
    message: 'Write the name with letters, digits, "_" and "-" only; clients refuse the others.',
    path: 'name',
  });
}

function checkLength({ name }: ListedTool): readonly Remark[] {
  const { length } = name;
  if (length <= LONGEST_WITH_PREFIX) return [];
  const isRefused = length > LONGEST;
  const reason = isRefused
    ? `Model APIs take ${LONGEST} at most.`
    : `Hosts put a prefix in front, and model APIs take ${LONGEST} in all.`;
  return [
    {
      severity: isRefused ? 'error' : 'warning',
      message: `Shorten the name from ${length} to ${LONGEST_WITH_PREFIX} characters. ${reason}`,
      path: 'name',
    },
  ];
}

function checkDots({ name }: ListedTool): readonly Remark[] {
  return remarkIf(name.includes('.'), {
    severity: 'warning',
    message: `Write "${name.replaceAll('.', '_')}": many model APIs take no dots, so hosts have to rename the tool.`,
    path: 'name',
  });
}

// Names of the documents this project follows.
const GIVEN: ReadonlySet<string> = new Set(['server_info', 'file_operations']);

function checkVerb({ name }: ListedTool): readonly Remark[] {
  return remarkIf(name !== '' && !GIVEN.has(name) && !readsLikeVerb(name), {
    severity: 'warning',
    message: `Say in the name what the tool does, with a verb: "get_${name}" or "search_${name}", say.`,
    path: 'name',
  });
}

function checkAbbreviations({ name }: ListedTool): readonly Remark[] {
  return wordsOf(name)
    .filter((word) => Object.hasOwn(WRITTEN_OUT, word))
    .map((word) => ({
      severity: 'warning',
      message: `Write "${WRITTEN_OUT[word]}" instead of "${word}": a model has to guess what is shortened.`,
      path: 'name',
    }));
}
