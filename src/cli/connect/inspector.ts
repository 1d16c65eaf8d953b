/** The Inspector that is tested with this package; on Node 20, npx picks an old one that takes no header unless told a version. */
export const INSPECTOR = { name: '@modelcontextprotocol/inspector', version: '2.12.0' } as const;
