/** Whether a name can be read as a verb and what it is done to, also where the verb is not a known one. */
export function readsLikeVerb(name: string): boolean {
  const words = wordsOf(name);
  const [first = ''] = words;
  return verbOf(name) !== undefined || (words.length > 1 && !NOUNS.has(first) && !NOUN_ENDING.test(first));
}

/** What the verb of a name promises: to read, to change or to delete something. */
export type Effect = 'read' | 'write' | 'destroy';

/** The words of a name in any usual spelling, in lower case. */
export function wordsOf(name: string): readonly string[] {
  return name
    .replaceAll(/([a-z\d])([A-Z])/g, '$1 $2')
    .replaceAll(/([A-Z])([A-Z][a-z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter(Boolean);
}

/** The first verb of a name; a word that is often a noun counts only before another word. */
export function verbOf(name: string): string | undefined {
  const words = wordsOf(name);
  const [first = ''] = words;
  if (words.length > 1 && OFTEN_NOUNS.has(first)) return first;
  return words.find(isVerb);
}

/** What the verb of a name promises, if that is clear. */
export function effectOf(name: string): Effect | undefined {
  const verb = verbOf(name);
  if (verb === undefined) return undefined;
  if (READING.has(verb)) return 'read';
  if (DESTROYING.has(verb)) return 'destroy';
  return WRITING.has(verb) ? 'write' : undefined;
}

// Also with "un" or "re" in front.
function isVerb(word: string): boolean {
  return VERBS.has(word) || VERBS.has(word.replace(/^(?:un|re)/, ''));
}

const setOf = (text: string): ReadonlySet<string> => new Set(text.trim().split(/\s+/));

const READING = setOf('count describe find get list lookup read search show view');

const DESTROYING = setOf(
  'delete destroy drop erase kill purge remove revoke terminate truncate uninstall wipe',
);

const WRITING = setOf(`
  append assign create deploy disable edit enable insert install invite merge modify move overwrite patch
  publish rename replace save send submit transfer update upload upsert write
`);

const VERBS = setOf(`
  ${[...READING, ...DESTROYING, ...WRITING].join(' ')}
  abort accept acknowledge activate add allow analyse analyze answer apply approve archive ask attach
  authenticate authorise authorize autocomplete ban begin bind build buy calculate call cancel capture cast
  check choose classify clean clear click clone close collect combine commit compare compile complete compose
  compress compute configure confirm connect convert copy crawl deactivate decline decode decrypt deduplicate
  define delegate deny detach detect determine diagnose diff disconnect discover dismiss dispatch display
  download draw duplicate echo elicit embed encode encrypt enqueue ensure enter escalate estimate evaluate
  examine exchange execute expand explain explore export extend extract fetch fill finish fix flag flush fork
  follow forecast format forward generate give go grant greet grep guess halt handle hide highlight identify
  ignore import include increment index infer ingest initialise initialize inspect interrupt invoke issue join
  keep launch leave link load locate lock log login logout make manage mark match measure minify mint monitor mount
  mute navigate normalise normalize notify observe obtain open optimise optimize pack parse pause pay perform
  pick pin ping play poll post predict prepare preview print process produce promote propose prove provision pull
  push put query quit quote raise rank reboot rebuild receive recognise recognize recommend reconcile redeem
  redirect reduce refactor refresh refund register reject release reload remember render reopen repair repeat
  reply request reserve reset resize resolve respond restart restore resume retrieve retry return revert
  review rewrite roll rollback rotate run scale scan scrape scroll seed select set share sign simulate skip
  sleep snooze solve sort split star start stop store subscribe suggest summarise summarize suspend swap switch
  sync synchronise synchronize take tell test throttle toggle train transcribe transform translate traverse
  trigger trim try unassign unblock undo unfollow unlink unlock unmount unpublish unsubscribe unzip upgrade
  use validate verify visit vote wait walk watch withdraw wrap zip
`);

const NOUN_ENDING = /(?:tion|sion|ment|ness|ity|ance|ence|ship|ing|ed|ers?|ors?|ies|[^s]s)$/;

const NOUNS = setOf(`
  account address agent alert amount api app article asset balance bank bill board branch budget bucket calendar card cart case
  category channel chart chat city client cloud cluster code comment commit company contact content context contract cost country
  currency data database date day deal default department detail device document domain draft entity entry error event exchange
  feature feed field file flow folder form game goal graph guide health history holiday home host id image inbox info input
  inventory invoice issue item job key lead ledger library limit line list log machine mail market media meeting menu metric
  model module money month name network news node note number object offer office output page paper part path payment people
  person phone photo picture pipeline place plan player policy price problem product profile project prompt property queue quota
  repo repository resource result role room row rule sale schema screen script section security sentiment sequence series service
  session setting sheet shop site size skill software space spec sprint sql stage state status stock story string style subject
  summary support survey system table target task tax team template tenant text theme thing thread ticket time timeline title
  token tool topic traffic transaction travel tree type unit url usage user value vendor version video view wallet weather web
  week wiki word workflow workspace year zone
  aws azure github gitlab google jira notion slack stripe
`);

const OFTEN_NOUNS = setOf(`
  block book bookmark charge debug email filter grade group help invoice label learn mail map
  message order paint paste plan plot rate react record report route schedule score sell serve ship
  sketch stream sum tag trace track trade work
`);
