/**
 * The Inspector that this package is tested with. Without a version, npx on Node 20 picks an old one that sends no
 * headers.
 */
export const INSPECTOR = { name: '@modelcontextprotocol/inspector', version: '2.12.0' } as const;
