import { test } from 'vitest';

type Declare = (name: string, run: () => Promise<void>) => void;

/** A test that changes something inside the modules; tests of the built files cannot reach that and do without it. */
export const sourceTest: Declare = process.env['TOOLCRIB_BUILT'] === undefined ? test : () => {};
