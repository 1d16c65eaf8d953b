import { exactText } from '../base/exact-json.ts';
import { isObject } from '../base/json.ts';
import type { ClientLogLevel } from '../core/call.ts';
import type { ListedTool } from '../core/tool.ts';
import { notedResult, type Notice } from '../protocol/decode/message.ts';
import type { JsonObject } from '../protocol/wire/json-rpc.ts';
import { readTools } from './calls/known-tools.ts';
import { RemoteError } from './errors.ts';
import { PagedList } from './paged-list.ts';
import type { Peer } from './peer.ts';
import { Subscriptions, updatedUri, type FollowedList } from './subscriptions.ts';

// All pages of a list are held at once, whatever the number of pages that is allowed.
const MESSAGES_OF_A_LIST = 4;

/** The lists of a server, and the notifications of their changes. */
export class Catalog {
  readonly tools: PagedList<ListedTool>;
  readonly prompts: PagedList<JsonObject>;
  readonly resources: PagedList<JsonObject>;
  readonly templates: PagedList<JsonObject>;
  readonly #peer: Peer;
  readonly #subscriptions: Subscriptions;

  constructor(peer: Peer) {
    this.#peer = peer;
    const warn = (text: string): void => peer.warn(text);
    this.tools = this.#list('tools', { member: 'tools', method: 'tools/list' }, (items) =>
      readTools(items, warn),
    );
    this.prompts = this.#list('prompts', { member: 'prompts', method: 'prompts/list' }, readObjects);
    this.resources = this.#list('resources', { member: 'resources', method: 'resources/list' }, readObjects);
    const templates = { member: 'resourceTemplates', method: 'resources/templates/list' };
    this.templates = this.#list('resources', templates, readObjects);
    this.#subscriptions = new Subscriptions({
      connection: peer.connection,
      clock: peer.clock,
      onNotice: (method, params) => this.#notice({ kind: 'notice', method, params }),
      onGap: () => this.#missed(),
      onOpen: () => void this.#catchUp(),
      onWarning: warn,
    });
    peer.onNotice = (notice) => this.#notice(notice);
    peer.onRenewed = () => this.#renewed();
    peer.onGap = () => this.#missed();
  }

  /** Has the server tell of changes of a list. */
  follow(list: FollowedList): void {
    if (this.#peer.server.era === 'modern') this.#subscriptions.followList(list);
  }

  /** Has the server tell of changes of a resource, or no longer. */
  async followResource(uri: string, wanted: 'follow' | 'leave'): Promise<void> {
    if (this.#peer.server.era === 'modern') this.#subscriptions.followResource(uri, wanted);
    else
      await this.#peer.connection.request(
        wanted === 'follow' ? 'resources/subscribe' : 'resources/unsubscribe',
        { uri },
      );
    if (wanted === 'follow') this.#followed.add(uri);
    else this.#followed.delete(uri);
  }

  readonly #followed = new Set<string>();
  #isChanged = false;
  #isReloading = false;

  /** Ends what is open for changes. */
  close(): void {
    this.#subscriptions.close();
  }

  #list<T>(
    kind: FollowedList,
    { member, method }: { readonly member: string; readonly method: string },
    read: (items: readonly unknown[]) => readonly T[],
  ): PagedList<T> {
    const { connection, clock, limits, timeouts } = this.#peer;
    return new PagedList<T>({
      member,
      maxPages: limits.pages,
      maxBytes: MESSAGES_OF_A_LIST * limits.messageBytes,
      now: () => clock.ticks(),
      isWatched: () => this.#isWatched(kind),
      read,
      fetchPage: async (cursor) => {
        const params = cursor === undefined ? {} : { cursor };
        const asked = connection.request(method, params, { timeoutMs: timeouts.listMs });
        const page = await asked.catch((error: unknown) => this.#absent(error));
        return page
          ? { result: notedResult(page), bytes: page.bytes.length }
          : { result: { [member]: [] }, bytes: 0 };
      },
    });
  }

  // A server that was not asked what it has may not know the list.
  #absent(error: unknown): undefined {
    if (this.#peer.server.isAssumed && error instanceof RemoteError && error.code === 'unknown_method')
      return undefined;
    throw error;
  }

  // With a handshake, a server that declares listChanged sends notifications without a subscription, if it has a way.
  #isWatched(kind: FollowedList): boolean {
    const { era, capabilities } = this.#peer.server;
    if (era === 'modern') return this.#subscriptions.announces(kind);
    const part = capabilities[kind];
    return isObject(part) && part['listChanged'] === true && this.#peer.hearsChanges;
  }

  #notice({ method, params }: Notice): void {
    const { listeners } = this.#peer;
    switch (method) {
      case 'notifications/tools/list_changed':
        this.tools.invalidate();
        return this.#toolsChanged();
      case 'notifications/prompts/list_changed':
        this.prompts.invalidate();
        return listeners.tell('promptsChanged', undefined);
      case 'notifications/resources/list_changed':
        this.resources.invalidate();
        this.templates.invalidate();
        return listeners.tell('resourcesChanged', undefined);
      case 'notifications/resources/updated': {
        const uri = updatedUri(params);
        if (uri !== undefined) listeners.tell('resourceUpdated', { uri });
        return;
      }
      case 'notifications/message':
        return this.#log(params);
    }
  }

  // Loaded again only if a listener needs it.
  #toolsChanged(): void {
    const { listeners, options } = this.#peer;
    if (!listeners.has('toolsChanged')) return;
    if (options.refreshLists === false) return listeners.tell('toolsChanged', undefined);
    this.#isChanged = true;
    if (!this.#isReloading) void this.#reload();
  }

  // A change between an earlier list and the opening of the stream would be missed.
  async #catchUp(): Promise<void> {
    const { listeners, options } = this.#peer;
    const before = this.tools.latest;
    this.invalidate();
    if (!before || !listeners.has('toolsChanged')) return;
    if (options.refreshLists === false) return this.#toolsChanged();
    await this.tools.load().then(
      (tools) => {
        if (textOf(tools) !== textOf(before)) listeners.tell('toolsChanged', tools);
      },
      (error: unknown) => this.#peer.warn(`The list could not be loaded again: ${String(error)}`),
    );
  }

  // One after the other: a server that announces changes endlessly must not get as many requests.
  async #reload(): Promise<void> {
    const { listeners } = this.#peer;
    this.#isReloading = true;
    while (this.#isChanged) {
      this.#isChanged = false;
      await this.tools.load().then(
        (tools) => listeners.tell('toolsChanged', tools),
        (error: unknown) => this.#peer.warn(`The changed list could not be loaded: ${String(error)}`),
      );
    }
    this.#isReloading = false;
  }

  #log({ level, data, logger }: JsonObject): void {
    if (typeof level !== 'string') return;
    const name = typeof logger === 'string' ? { logger } : {};
    this.#peer.listeners.tell('log', { level: level as ClientLogLevel, data, ...name });
  }

  /** What was fetched is no longer good. */
  invalidate(): void {
    for (const list of [this.tools, this.prompts, this.resources, this.templates]) list.invalidate();
  }

  // An embedder that fetches the lists has to do so again; our own reload follows once the stream is open.
  #missed(): void {
    this.invalidate();
    if (this.#peer.options.refreshLists === false) this.#toolsChanged();
  }

  // A new session knows nothing of what the old one followed.
  #renewed(): void {
    this.invalidate();
    this.#toolsChanged();
    for (const uri of this.#followed)
      this.#peer.connection.request('resources/subscribe', { uri }).catch((error: unknown) => {
        this.#peer.warn(`${uri} is no longer followed: ${String(error)}`);
      });
  }
}

function textOf(tools: readonly ListedTool[]): string {
  return tools.map(exactText).join();
}

function readObjects(items: readonly unknown[]): readonly JsonObject[] {
  return items.filter(isObject);
}
