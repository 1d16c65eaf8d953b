import { isObject } from '../base/json.ts';
import { isSkillName, skillLimits } from '../core/resources/skill.ts';
import { aboutFile, type Complaint } from '../config/complaint.ts';
import { parseFrontMatter } from '../config/front-matter.ts';
import { YamlText, type About, type Path } from '../config/yaml-text.ts';

/** What a SKILL.md says about its skill, and what is wrong with it. */
export interface CheckedMainFile {
  /** Set unless a complaint is an error. */
  readonly frontmatter?: Readonly<Record<string, unknown>>;
  readonly complaints: readonly Complaint[];
}

const RESERVED = 'io.modelcontextprotocol/';
const MAX_DESCRIPTION = 1_024;

/** Checks the front matter of a SKILL.md in a folder of some name. */
export function checkMainFile(bytes: Uint8Array, file: string, folder: string): CheckedMainFile {
  const text = utf8TextOf(bytes);
  if (text === undefined) return failed(file, 'is not text in UTF-8');
  const lines = text.replace(/^\uFEFF/, '').split('\n');
  const end = lines.findIndex((line, at) => at > 0 && isDashes(line));
  if (!isDashes(lines[0]!) || end < 0)
    return failed(
      file,
      'has no front matter',
      'begin it with two lines of "---", and name and description between',
    );
  // An empty line in the place of the dashes, so that lines are counted as they are in the file.
  const yaml = new YamlText(['', ...lines.slice(1, end)].join('\n'), file);
  const broken = yaml.problems();
  if (broken.length > 0) return { complaints: broken };
  const value = valueOf(text);
  if (!value) return failed(file, 'has front matter that is not a list of keys and values');
  const complaints = findings(value, folder).map(({ path, ...about }) => yaml.complain(path, about));
  if (complaints.some(({ severity }) => severity === 'error')) return { complaints };
  return { frontmatter: value, complaints };
}

interface Finding extends About {
  readonly path: Path;
}

function findings(value: Readonly<Record<string, unknown>>, folder: string): readonly Finding[] {
  const { name, description, metadata } = value;
  const found: Finding[] = [];
  if (!isSkillName(name))
    found.push({
      path: ['name'],
      message: name === undefined ? 'is missing' : 'cannot be the name of a skill',
      remedy: 'use up to 64 small letters and digits, with single hyphens between them',
    });
  else if (name !== folder)
    found.push({
      path: ['name'],
      message: `is not the name of its folder, ${JSON.stringify(folder)}`,
      remedy: 'rename one of the two',
    });
  if (typeof description !== 'string' || description.trim() === '')
    found.push({
      path: ['description'],
      message: description === undefined ? 'is missing' : 'must be a text',
      remedy: 'say what the skill is for and when to use it',
    });
  else if (description.length > MAX_DESCRIPTION)
    found.push({
      path: ['description'],
      message: `is longer than ${MAX_DESCRIPTION} characters`,
      remedy: 'shorten it',
    });
  for (const key of isObject(metadata) ? Object.keys(metadata) : [])
    if (key.startsWith(RESERVED))
      found.push({
        path: ['metadata', key],
        message: `begins with ${RESERVED}, which is reserved`,
        remedy: 'choose another key',
        isKey: true,
        severity: 'warning',
      });
  if (JSON.stringify(value).length > skillLimits.frontMatterBytes)
    found.push({
      path: [],
      message: `has front matter of over ${skillLimits.frontMatterBytes} bytes`,
      remedy: 'shorten it',
    });
  return found;
}

// Read as clients read it, who compare the two.
function valueOf(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    return parseFrontMatter(text);
  } catch {
    return undefined;
  }
}

function failed(file: string, message: string, remedy = ''): CheckedMainFile {
  return { complaints: [{ ...aboutFile(file, { message, remedy }), line: 1, column: 1 }] };
}

/** The text of bytes in UTF-8, with a byte order mark if they begin with one; `undefined` if they are no text. */
export function utf8TextOf(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

function isDashes(line: string): boolean {
  return line.trimEnd() === '---';
}
