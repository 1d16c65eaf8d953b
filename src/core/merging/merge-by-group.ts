import type { Caller } from '../caller.ts';
import { merge, type MergedSource, type MergeOptions } from '../merge.ts';
import type { PromptFace, ResourceFace, SkillFace, ToolSource } from '../source.ts';

/**
 * Makes one source of several that list different things to different groups of callers. Each group has names of its
 * own, so that a name reveals nothing about the tools of other groups.
 */
export function mergeByGroup(
  sources: Readonly<Record<string, ToolSource>>,
  options: MergeOptions,
  groupOf: (caller: Caller) => string,
): MergedSource {
  const groups = new Map<string, MergedSource>();
  const groupNamed = (name: string): MergedSource => {
    let group = groups.get(name);
    if (!group) groups.set(name, (group = merge(sources, options)));
    return group;
  };
  const of = (caller: Caller): MergedSource => groupNamed(groupOf(caller));
  const others = groupNamed(EVERYBODY_ELSE);
  const skillFace: SkillFace = {
    list: (caller) => of(caller).resources!.skills?.list(caller) ?? [],
    isKnown: (caller) => of(caller).resources!.skills?.isKnown?.(caller) ?? true,
  };
  const resourceFace: ResourceFace = {
    list: (caller) => of(caller).resources!.list(caller),
    templates: (caller) => of(caller).resources!.templates(caller),
    find: (uri, caller) => of(caller).resources!.find(uri, caller),
    get skills() {
      return others.resources!.skills && skillFace;
    },
  };
  const promptFace: PromptFace = {
    list: (caller) => of(caller).prompts!.list(caller),
    find: (name, caller) => of(caller).prompts!.find(name, caller),
  };
  return {
    names: others.names,
    list: (caller) => of(caller).list(caller),
    find: (name, caller) => of(caller).find(name, caller),
    call: (call) => of(call.caller).call(call),
    ...(others.resources && { resources: resourceFace }),
    ...(others.prompts && { prompts: promptFace }),
    follow: (uri, caller) => of(caller).follow?.(uri, caller) ?? (() => {}),
    watch: (listener) => others.watch?.(listener) ?? (() => {}),
  };
}

/** The group of all callers who see what everybody sees. */
export const EVERYBODY_ELSE = '';
