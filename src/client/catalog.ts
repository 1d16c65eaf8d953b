import { isObject } from '../base/json.ts';
import type { ClientLogLevel } from '../core/call.ts';
import type { ListedTool } from '../core/tool.ts';
import type { Notice } from '../protocol/decode/message.ts';
import type { JsonObject } from '../protocol/wire/json-rpc.ts';
import { readTools } from './calls/known-tools.ts';
import { PagedList } from './paged-list.ts';
import type { Peer } from './peer.ts';
import { Subscriptions, updatedUri, type FollowedList } from './subscriptions.ts';

/** The lists of a server, and what it tells of their changes. */
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
      onGap: () => this.invalidate(),
      onOpen: () => void this.#catchUp(),
    });
    peer.onNotice = (notice) => this.#notice(notice);
    peer.onRenewed = () => this.#renewed();
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
      now: () => clock.ticks(),
      isWatched: () => this.#isWatched(kind),
      read,
      fetchPage: async (cursor) => {
        const params = cursor === undefined ? {} : { cursor };
        const { result } = await connection.request(method, params, { timeoutMs: timeouts.listMs });
        return result;
      },
    });
  }

  // With a handshake, a server that declares it tells of changes unasked.
  #isWatched(kind: FollowedList): boolean {
    const { era, capabilities } = this.#peer.server;
    if (era === 'modern') return this.#subscriptions.isOpen;
    const part = capabilities[kind];
    return isObject(part) && part['listChanged'] === true;
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

  // Loaded again only where somebody has use for it.
  #toolsChanged(): void {
    const { listeners, options } = this.#peer;
    if (!listeners.has('toolsChanged')) return;
    if (options.refreshLists === false) return listeners.tell('toolsChanged', undefined);
    this.#isChanged = true;
    if (!this.#isReloading) void this.#reload();
  }

  // A change between the first list and the stream that tells of changes would never be heard of.
  async #catchUp(): Promise<void> {
    const { listeners, options } = this.#peer;
    const before = this.tools.latest;
    if (!before || !listeners.has('toolsChanged') || options.refreshLists === false) return;
    this.tools.invalidate();
    await this.tools.load().then(
      (tools) => {
        if (JSON.stringify(tools) !== JSON.stringify(before)) listeners.tell('toolsChanged', tools);
      },
      (error: unknown) => this.#peer.warn(`The list could not be loaded again: ${String(error)}`),
    );
  }

  // One after the other: a server that tells of changes without end must not have as many requests under way.
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

function readObjects(items: readonly unknown[]): readonly JsonObject[] {
  return items.filter(isObject);
}
