import { readFileSync, writeFileSync } from 'node:fs';
import { configJsonSchema, withTables } from './reference.ts';

// Run by `npm run schema`, in the root of the repository.
writeFileSync('toolcrib.schema.json', `${JSON.stringify(configJsonSchema(), null, 2)}\n`);
const page = 'docs/configuration.md';
writeFileSync(page, withTables(readFileSync(page, 'utf8')));
