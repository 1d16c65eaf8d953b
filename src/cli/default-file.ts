/** The configuration a command reads unless one is named. */
export const DEFAULT_CONFIG = 'toolcrib.yaml';
