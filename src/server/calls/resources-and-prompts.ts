import { ToolcribError } from '../../base/errors.ts';
import { writeWithLongIntegers } from '../../base/exact-json.ts';
import { absentPrompt, absentResource, absentTemplate } from '../../core/absent-tool.ts';
import type { CallTarget } from '../../core/make-call.ts';
import type { Prompt, PromptMessages } from '../../core/prompts/prompt.ts';
import type { ResourceTemplate } from '../../core/resources/resource.ts';
import { encodeBlock, encodeContents } from '../../protocol/encode/result.ts';
import type { JsonObject } from '../../protocol/wire/json-rpc.ts';
import {
  readCompletionParams,
  readPromptParams,
  readUri,
  type CompletionParams,
} from '../../protocol/wire/params.ts';
import type { ServerParts } from '../parts.ts';
import type { UnderstoodRequest } from '../request.ts';
import { encodeInputRequired } from './rounds.ts';
import type { Runner } from './run.ts';

/** Answers `resources/read`, `prompts/get` and `completion/complete`. */
export class ResourceAndPromptCalls {
  readonly #parts: ServerParts;
  readonly #runner: Runner;

  constructor(parts: ServerParts, runner: Runner) {
    this.#parts = parts;
    this.#runner = runner;
  }

  /** The encoded contents of a resource. */
  async readResource(request: UnderstoodRequest): Promise<string> {
    const { revision, link, message } = request;
    const resources = faceOf(this.#parts.source.resources, request);
    const uri = readUri(message.params);
    const found = await resources.find(uri, link.caller);
    const { resource, variables } = found ?? { resource: absentResource(uri), variables: {} };
    return this.#perform(request, { kind: 'resource', resource, uri, variables }, (data, rest) => {
      const contents = (data['contents'] as readonly JsonObject[]).map((piece) =>
        encodeContents(piece, revision.features),
      );
      return revision.frame({ ...rest, ...data, contents }, this.#parts.info, 'cacheable');
    });
  }

  /** The encoded messages of a prompt. */
  async getPrompt(request: UnderstoodRequest): Promise<string> {
    const { revision, link, message } = request;
    const prompts = faceOf(this.#parts.source.prompts, request);
    const { name, arguments: args } = readPromptParams(message.params);
    const prompt = (await prompts.find(name, link.caller)) ?? absentPrompt(name);
    return this.#perform(request, { kind: 'prompt', prompt, arguments: args }, (data, rest) => {
      const { messages } = data as unknown as PromptMessages;
      const shown = messages.map((said) => ({
        ...said,
        content: encodeBlock(said.content, revision.features),
      }));
      return revision.frame({ ...rest, ...data, messages: shown }, this.#parts.info);
    });
  }

  /** The encoded suggestions for an argument. */
  async complete(request: UnderstoodRequest): Promise<string> {
    const { resources, prompts } = this.#parts.source;
    faceOf(resources ?? prompts, request);
    const params = readCompletionParams(request.message.params);
    const target = await this.#completionTarget(params, request);
    const { argument, chosen } = params;
    return this.#perform(request, { kind: 'completion', target, argument, chosen }, (completion, rest) =>
      request.revision.frame({ ...rest, completion }, this.#parts.info),
    );
  }

  async #completionTarget(
    { target }: CompletionParams,
    { link }: UnderstoodRequest,
  ): Promise<Prompt | ResourceTemplate> {
    const { resources, prompts } = this.#parts.source;
    if ('prompt' in target)
      return (await prompts?.find(target.prompt, link.caller)) ?? absentPrompt(target.prompt);
    const templates = (await resources?.templates(link.caller)) ?? [];
    const found = templates.find(({ uriTemplate }) => uriTemplate === target.template);
    return found ?? absentTemplate(target.template);
  }

  async #perform(
    request: UnderstoodRequest,
    target: CallTarget,
    encode: (data: JsonObject, rest: JsonObject) => JsonObject,
  ): Promise<string> {
    const ended = await this.#runner.run(request, target);
    if (ended.kind === 'needs_input') return encodeInputRequired(ended, { request, target }, this.#parts);
    if (ended.kind !== 'done') throw new TypeError(`${request.message.method} cannot end as ${ended.kind}.`);
    const { data, meta, extra, relayed } = ended;
    const body = encode(data as JsonObject, { ...extra, ...(meta && { _meta: meta }) });
    return writeWithLongIntegers(body, relayed?.longIntegers);
  }
}

/** The part of a source that a method needs; a method without one is answered like an unknown one. */
export function faceOf<T>(face: T | undefined, { message, revision }: UnderstoodRequest): T {
  if (face) return face;
  throw new ToolcribError(
    'unknown_method',
    `This server has nothing for "${message.method}" (${revision.version}).`,
  );
}
