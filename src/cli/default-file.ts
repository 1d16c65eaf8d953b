/** The configuration a command takes unless told otherwise. */
export const DEFAULT_CONFIG = 'toolcrib.yaml';
