import type { ToolMessage } from '../../host/models/model.ts';

const MAX_LETTERS = 200;

/** The first line of what a tool said, without the words of the host. */
export function firstTextOf({ content }: ToolMessage): string {
  const texts = content.flatMap((part) => (part.type === 'text' ? [part.text.trim()] : []));
  const own = texts.find((text) => text !== '' && !text.startsWith('[toolcrib:')) ?? texts[0] ?? '';
  return Array.from(own.split('\n', 1)[0] ?? '')
    .slice(0, MAX_LETTERS)
    .join('');
}
