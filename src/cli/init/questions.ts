import type { ProjectPlan } from './files.ts';
import { complaintAboutName } from './name.ts';
import { complaintAboutTool, templates, type TemplateName } from './templates.ts';

/** Asks on the terminal for what is not known yet; returns `undefined` if cancelled. */
export async function askQuestions(
  known: Partial<ProjectPlan>,
  suggestedName: string,
): Promise<ProjectPlan | undefined> {
  const { intro, isCancel, select, text, cancel } = await import('@clack/prompts');
  giveSize(process.stdout);
  const answered = async <T>(question: Promise<T>): Promise<Exclude<T, symbol>> => {
    const answer = await question;
    if (isCancel(answer)) throw new Cancelled();
    return answer as Exclude<T, symbol>;
  };
  // Enter accepts the suggestion; typing replaces it.
  const ask = (
    message: string,
    suggested: string,
    complaintAbout?: (answer: string) => string | undefined,
  ): Promise<string> =>
    answered(
      text({
        message,
        placeholder: suggested,
        defaultValue: suggested,
        validate: (value) => (value?.trim() ? complaintAbout?.(value) : undefined),
      }),
    );
  try {
    intro('A new project with tools for AI agents');
    const name = known.name ?? (await ask('What is it called?', suggestedName, complaintAboutName));
    const template =
      known.template ??
      (await answered(select<TemplateName>({ message: 'What is its first tool for?', options: kinds })));
    const language =
      known.language ??
      (await answered(
        select<ProjectPlan['language']>({ message: 'What is it written in?', options: languages }),
      ));
    const standard = templates[template];
    const tool = known.tool ?? (await ask('What is the tool called?', standard.tool, complaintAboutTool));
    return {
      name,
      template,
      tool,
      language,
      does: known.does ?? (await ask(`What does ${tool} do?`, standard.does)),
      returns: known.returns ?? (await ask('What does it return?', standard.returns)),
      when: known.when ?? (await ask('When should a model use it?', standard.when)),
    };
  } catch (error) {
    if (!(error instanceof Cancelled)) throw error;
    cancel('Nothing was written.');
    return undefined;
  }
}

// A terminal inside of another program may say that it has no columns, and text is then wrapped at every character.
function giveSize(terminal: NodeJS.WriteStream): void {
  terminal.columns ||= 80;
  terminal.rows ||= 24;
}

class Cancelled extends Error {}

const kinds: { value: TemplateName; label: string; hint: string }[] = [
  { value: 'query', label: 'Finding something', hint: templates.query.tool },
  { value: 'action', label: 'Doing something', hint: templates.action.tool },
  {
    value: 'transformation',
    label: 'Turning something into something else',
    hint: templates.transformation.tool,
  },
];

const languages: { value: ProjectPlan['language']; label: string }[] = [
  { value: 'typescript', label: 'TypeScript' },
  { value: 'javascript', label: 'JavaScript' },
];
