import { absentPrompt, absentResource, absentTemplate } from '../../core/absent-tool.ts';
import type { CompletionCall, PromptCall, ResourceCall } from '../../core/call.ts';
import { digest } from '../../base/digest.ts';
import { describePrompt, type Prompt, type PromptMessages } from '../../core/prompts/prompt.ts';
import type { ResourceTemplate } from '../../core/resources/resource.ts';
import type { Call } from '../../core/call.ts';
import { encodeBlock, encodeContents } from '../../protocol/encode/result.ts';
import type { JsonObject } from '../../protocol/wire/json-rpc.ts';
import {
  readCompletionParams,
  readPromptParams,
  readUri,
  type CompletionParams,
} from '../../protocol/wire/params.ts';
import { faceOf } from './face.ts';
import type { ServerParts } from '../parts.ts';
import { encodeInputRequired } from './questions.ts';
import type { Runner, Subject } from './runner.ts';
import type { Settled } from '../settled.ts';

/** Answers `resources/read`, `prompts/get` and `completion/complete`. */
export class Readings {
  readonly #parts: ServerParts;
  readonly #runner: Runner;

  constructor(parts: ServerParts, runner: Runner) {
    this.#parts = parts;
    this.#runner = runner;
  }

  /** The encoded contents of a resource. */
  async readResource(settled: Settled): Promise<string> {
    const resources = faceOf(this.#parts.source.resources, settled);
    const uri = readUri(settled.message.params);
    const found = await resources.find(uri, settled.link.caller);
    const { resource, variables } = found ?? { resource: absentResource(uri), variables: {} };
    const subject: Subject<ResourceCall> = {
      name: resource.name,
      bind: () => ({ target: uri, arguments: '' }),
      answers: 'again',
      toCall: (base) => ({ ...base, kind: 'resource', resource, uri, variables }),
    };
    const { revision } = settled;
    return this.#perform(settled, subject, (data) => {
      const contents = (data['contents'] as readonly JsonObject[]).map((piece) =>
        encodeContents(piece, revision.features),
      );
      return revision.frame({ ...data, contents }, this.#parts.info, 'cacheable');
    });
  }

  /** The encoded messages of a prompt. */
  async getPrompt(settled: Settled): Promise<string> {
    const prompts = faceOf(this.#parts.source.prompts, settled);
    const params = readPromptParams(settled.message.params);
    const prompt = (await prompts.find(params.name, settled.link.caller)) ?? absentPrompt(params.name);
    const subject: Subject<PromptCall> = {
      name: prompt.name,
      bind: () => ({
        target: `${prompt.name} ${digest(describePrompt(prompt))}`,
        arguments: digest(params.arguments),
      }),
      answers: 'again',
      toCall: (base) => ({ ...base, kind: 'prompt', prompt, arguments: params.arguments }),
    };
    const { features } = settled.revision;
    return this.#perform(settled, subject, (data) => {
      const { description, messages } = data as unknown as PromptMessages;
      const shown = messages.map(({ role, content }) => ({ role, content: encodeBlock(content, features) }));
      return settled.revision.frame({ description, messages: shown }, this.#parts.info);
    });
  }

  /** The encoded suggestions for an argument. */
  async complete(settled: Settled): Promise<string> {
    const { resources, prompts } = this.#parts.source;
    faceOf(resources ?? prompts, settled);
    const params = readCompletionParams(settled.message.params);
    const target = await this.#completionTarget(params, settled);
    const subject: Subject<CompletionCall> = {
      name: target.name,
      bind: () => ({ target: target.name, arguments: '' }),
      answers: 'again',
      toCall: (base) => ({
        ...base,
        kind: 'completion',
        target,
        argument: params.argument,
        chosen: params.chosen,
      }),
    };
    return this.#perform(settled, subject, (completion) =>
      settled.revision.frame({ completion }, this.#parts.info),
    );
  }

  async #completionTarget(
    { target }: CompletionParams,
    { link }: Settled,
  ): Promise<Prompt | ResourceTemplate> {
    const { resources, prompts } = this.#parts.source;
    if ('prompt' in target)
      return (await prompts?.find(target.prompt, link.caller)) ?? absentPrompt(target.prompt);
    const templates = (await resources?.templates(link.caller)) ?? [];
    const found = templates.find(({ uriTemplate }) => uriTemplate === target.template);
    return found ?? absentTemplate(target.template);
  }

  async #perform<C extends Call>(
    settled: Settled,
    subject: Subject<C>,
    encode: (data: JsonObject) => JsonObject,
  ): Promise<string> {
    const ended = await this.#runner.run(settled, subject);
    if (ended.kind === 'needs_input') {
      const binding = this.#runner.bindingOf(settled, subject);
      return encodeInputRequired(ended, { settled, parts: this.#parts, binding });
    }
    if (ended.kind !== 'done') throw new TypeError(`${settled.message.method} cannot end as ${ended.kind}.`);
    return JSON.stringify(encode(ended.data as JsonObject));
  }
}
