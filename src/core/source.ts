import type { Awaitable } from '../base/awaitable.ts';
import type { Call } from './call.ts';
import type { Caller } from './caller.ts';
import type { Prompt } from './prompts/prompt.ts';
import type { Resource, ResourceTemplate } from './resources/resource.ts';
import type { ServedSkill } from './resources/skill.ts';
import type { Result } from './result.ts';
import type { Tool } from './tool.ts';

/** What became different in a source. */
export type Change =
  | ToolChange
  | { readonly kind: 'resources' }
  | { readonly kind: 'prompts' }
  | ResourceUpdate;

/** Which tools came, went or changed. */
export interface ToolChange {
  readonly kind: 'tools';
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly modified: readonly string[];
}

/** A resource's content is new. */
export interface ResourceUpdate {
  readonly kind: 'resource';
  readonly uri: string;
  /** Whether the update is about the resource that a caller found at that address; always unless set. */
  readonly concerns?: (found: Resource | ResourceTemplate, caller: Caller) => boolean;
}

/** A resource found for an address, with the values of the template's variables. */
export interface FoundResource {
  readonly resource: Resource | ResourceTemplate;
  readonly variables: Readonly<Record<string, string>>;
}

/** The resources of a source. */
export interface ResourceFace {
  list(caller: Caller): Awaitable<readonly Resource[]>;
  templates(caller: Caller): Awaitable<readonly ResourceTemplate[]>;
  find(uri: string, caller: Caller): Awaitable<FoundResource | undefined>;
  /** The skills among them; every file of a skill is found as a resource, and its SKILL.md is listed as one. */
  readonly skills?: SkillFace | undefined;
}

/** The skills of a source. */
export interface SkillFace {
  /** The same frozen array until what this caller sees changes. */
  list(caller: Caller): Awaitable<readonly ServedSkill[]>;
  /** Whether they are known without connecting to anything; always unless set. */
  isKnown?(caller: Caller): boolean;
}

/** The prompts of a source. */
export interface PromptFace {
  list(caller: Caller): Awaitable<readonly Prompt[]>;
  find(name: string, caller: Caller): Awaitable<Prompt | undefined>;
}

/** Anything that can list, find and call tools for a caller; it may have resources and prompts too. */
export interface ToolSource {
  /** The same frozen array until what this caller sees changes. */
  list(caller: Caller): Awaitable<readonly Tool[]>;
  find(name: string, caller: Caller): Awaitable<Tool | undefined>;
  call(call: Call): Awaitable<Result>;
  readonly resources?: ResourceFace | undefined;
  readonly prompts?: PromptFace | undefined;
  /** The names of the stages it is behind. */
  readonly stages?: ReadonlySet<string>;
  /** Calls the listener with each change, until the returned function is called. */
  watch?(listener: (change: Change) => void): () => void;
  /** Asks for announcements of new content of a resource until the returned function is called; unset if not needed. */
  follow?(uri: string, caller: Caller): () => void;
}
