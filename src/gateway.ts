export { createGateway, type Gateway, type GatewayOptions } from './gateway/create-gateway.ts';
export {
  loadConfig,
  readConfig,
  type LoadedConfig,
  type LoadOptions,
} from './gateway/settings/load-config.ts';
export type { ConfigReading } from './gateway/settings/load-config.ts';
export { formatComplaint, type Complaint } from './config/complaint.ts';
export type { Config, ConfigInput } from './gateway/settings/config.ts';
export { openSqliteStore, type SqliteStoreOptions } from './store/sqlite/store.ts';
export { openSecrets, type StoreSecrets } from './store/secrets-file.ts';
export { standardStages, type StandardStageOptions } from './gateway/own-stages.ts';
