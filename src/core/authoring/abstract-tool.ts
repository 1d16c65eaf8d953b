import type { ToolContext } from '../context.ts';
import { ToolcribError } from '../../base/errors.ts';
import { readInputSchema, type ObjectSchema, type Parse, type SchemaLike } from '../../schema/schema.ts';
import { labelled, type Tool, type ToolAnnotations } from '../tool.ts';
import { describeIssues, validatorOf } from '../../schema/validator.ts';

/** The class style, for tools that hold state or dependencies: extend it and write `execute`. */
export abstract class AbstractTool<Input = Record<string, unknown>> implements Tool<Input> {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: ObjectSchema;
  readonly annotations: ToolAnnotations;
  readonly parseInput?: Parse;
  /** What a server runs: hands over to `execute`. A property, so that a changed copy of the tool still runs. */
  readonly handler = (args: Input, context: ToolContext): unknown => this.execute(args, context);

  /** `schema` may be partial: `properties` and `required` are enough. `annotations` win over the class's own. */
  // oxlint-disable-next-line max-params -- the four parts and their order are the documented class style.
  constructor(name: string, description: string, schema: SchemaLike = {}, annotations: ToolAnnotations = {}) {
    this.name = name;
    this.description = description;
    const { json, parse } = labelled(name, () => readInputSchema(schema));
    this.inputSchema = json;
    if (parse) this.parseInput = parse;
    this.annotations = { ...this.getDefaultAnnotations(), ...annotations };
  }

  /** Does the work; may return anything a handler may return. */
  abstract execute(parameters: Input, context: ToolContext): unknown;

  /** The hints of every instance of a class; override it instead of repeating them. */
  protected getDefaultAnnotations(): ToolAnnotations {
    return {};
  }

  /** Checks parameters against the whole schema and fills in defaults; throws `invalid_arguments`. */
  protected validateParameters(parameters: unknown): Input {
    const outcome = validatorOf(this.inputSchema)(parameters);
    if ('value' in outcome) return outcome.value as Input;
    throw new ToolcribError(
      'invalid_arguments',
      `Invalid arguments for ${this.name}: ${describeIssues(outcome.issues)}`,
    );
  }
}
