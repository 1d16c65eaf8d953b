import { readFileSync, writeFileSync } from 'node:fs';
import { requirementsPage } from './page.ts';

// Run by `npm run requirements`, in the root of the repository; with --check it only compares.
const path = 'docs/requirements.md';
const { text, problems } = requirementsPage();
for (const problem of problems) console.error(problem);
if (problems.length > 0) process.exitCode = 1;
if (!process.argv.includes('--check')) writeFileSync(path, text);
else if (readFileSync(path, 'utf8') !== text) {
  console.error(`${path} is not up to date; run: npm run requirements`);
  process.exitCode = 1;
}
