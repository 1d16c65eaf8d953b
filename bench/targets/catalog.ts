/** A tool definition that only fills the registry, as a real catalogue would. */
export interface FillerTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: Record<string, unknown>;
}

/** What the `echo_object` tool of every target answers. */
export interface EchoObject {
  readonly text: string;
  readonly length: number;
}

/** The input of both echo tools, as JSON Schema. */
export const echoInput = {
  type: 'object',
  properties: { text: { type: 'string' } },
  required: ['text'],
} as const;

/** The output of `echo_object`, as JSON Schema. */
export const echoOutput = {
  type: 'object',
  properties: { text: { type: 'string' }, length: { type: 'integer' } },
  required: ['text', 'length'],
} as const;

/** The structured answer that every target's `echo_object` gives for a text. */
export function echoObject(text: string): EchoObject {
  return { text, length: text.length };
}

/** What `bulk_object` answers: a list of orders that takes 32 kB as JSON. */
export const bulkObject = {
  orders: Array.from({ length: 220 }, (_, index) => ({
    id: `ord_${String(index).padStart(6, '0')}`,
    customer: `Customer ${index} of the northern district`,
    state: index % 3 === 0 ? ('shipped' as const) : ('open' as const),
    total: index * 12.5,
    note: 'Leave the parcel with a neighbour.',
  })),
};

/** What `bulk_text` answers: 32 kB of plain text. */
export const bulkText = 'The parcel of the northern district is left with a neighbour.\n'.repeat(524);

/** The output of `bulk_object`, as JSON Schema. */
export const bulkOutput = {
  type: 'object',
  properties: {
    orders: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          id: { type: 'string' },
          customer: { type: 'string' },
          state: { type: 'string', enum: ['open', 'shipped'] },
          total: { type: 'number' },
          note: { type: 'string' },
        },
        required: ['id', 'customer', 'state', 'total'],
      },
    },
  },
  required: ['orders'],
} as const;

/** Makes the tools that are registered beside the two echo tools, about 236 bytes each when listed. */
export function fillerTools(total: number): FillerTool[] {
  return Array.from({ length: Math.max(0, total - 2) }, (_, index) => {
    const resource = resources[index % resources.length] ?? 'order';
    return {
      name: `list_${resource}s_${String(index).padStart(5, '0')}`,
      description: `Lists the ${resource}s of one customer.`,
      inputSchema: {
        type: 'object',
        properties: { customer: { type: 'string' }, limit: { type: 'integer', minimum: 1, maximum: 100 } },
        required: ['customer'],
      },
    };
  });
}

const resources = ['order', 'invoice', 'ticket', 'refund', 'contract', 'shipment', 'quote', 'contact'];
