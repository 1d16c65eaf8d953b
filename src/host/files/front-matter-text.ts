import type { Complaint } from '../../config/complaint.ts';
import { YamlText } from '../../config/yaml-text.ts';

/** A Markdown file in two parts: its settings, on the lines they have in the file, and the text below. */
export interface FrontMatterText {
  /** The settings as YAML; empty where there are none. */
  readonly settings: string;
  readonly body: string;
  /** Keys whose text is no YAML and was taken as it is written. */
  readonly asWritten: readonly string[];
}

const MAX_SETTINGS = 65_536;

/** Splits a Markdown file; settings that begin must end. */
export function splitFrontMatter(
  text: string,
  file: string,
): FrontMatterText | { readonly complaint: Complaint } {
  const plain = text.replace(/^\uFEFF/, '');
  const lines = plain.split('\n');
  if (!isDashes(lines[0]!)) return { settings: '', body: plain.trim(), asWritten: [] };
  const end = lines.findIndex((line, index) => index > 0 && isDashes(line));
  if (end < 0)
    return complaintAt(file, 'The settings that begin here have no end', 'close them with a line "---"');
  // The lines keep their numbers: the first one is the dashes.
  const settings = ['', ...lines.slice(1, end)].join('\n');
  if (settings.length > MAX_SETTINGS)
    return complaintAt(
      file,
      `The settings are longer than ${MAX_SETTINGS} characters`,
      'put text below them',
    );
  const body = lines
    .slice(end + 1)
    .join('\n')
    .trim();
  if (new YamlText(settings, file).problems().length === 0) return { settings, body, asWritten: [] };
  const quoted = quoteLoose(settings);
  const isBetter = new YamlText(quoted.settings, file).problems().length === 0;
  return isBetter ? { ...quoted, body } : { settings, body, asWritten: [] };
}

function isDashes(line: string): boolean {
  return line.trimEnd() === '---';
}

function complaintAt(file: string, message: string, remedy: string): { readonly complaint: Complaint } {
  return { complaint: { file, line: 1, column: 1, path: '', message, remedy, severity: 'error' } };
}

// Other programs take `description: Use it when: ...` and `tools: *`, which are no YAML.
function quoteLoose(settings: string): Pick<FrontMatterText, 'settings' | 'asWritten'> {
  const asWritten: string[] = [];
  const lines = settings.split('\n').map((line) => {
    const [, key = '', value = ''] = /^([A-Za-z][\w-]*):[ \t]+(\S.*)$/.exec(line.trimEnd()) ?? [];
    const isLoose = value === '*' || (!/^["'[{|>&*!#%@`]/.test(value) && /: |:$| #|<|\t/.test(value));
    if (key === '' || !isLoose) return line;
    asWritten.push(key);
    return `${key}: ${JSON.stringify(value)}`;
  });
  return { settings: lines.join('\n'), asWritten };
}
