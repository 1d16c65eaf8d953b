#!/usr/bin/env node
import { existsSync } from 'node:fs';
import { startStoreWorker } from '../store/sqlite/start-worker.ts';
import { DEFAULT_CONFIG } from './default-file.ts';

// The store's thread takes longest to start, so it starts before anything else is loaded.
const [, , command, ...flags] = process.argv;
const hasFile = flags.some((flag) => flag.startsWith('--config')) || existsSync(DEFAULT_CONFIG);
const storeWorker = command === 'serve' && hasFile ? startStoreWorker() : undefined;
const { runCommand } = await import('./commands.ts');
await runCommand(storeWorker);
