import { isObject } from '../../base/json.ts';

type Value = Readonly<Record<string, unknown>>;

/** Keys of other formats that ask for more power than the operator gave: none is ever honoured. */
export const POWER_FIELDS: readonly string[] = [
  'permissionMode',
  'permission_mode',
  'permissions.allow',
  'permissions.defaultMode',
  'dangerouslySkipPermissions',
  'bypassPermissions',
  'allowed-tools',
  'allowedTools',
  'allowed_tools',
  'autoApprove',
  'alwaysAllow',
  'trust',
  'yolo',
  'toolsSettings',
  'hooks',
  'tool_hooks',
  'lifecycle_hooks',
  'runtime.safety',
  'safety',
  'sandbox_mode',
  'approval_policy',
  'shell',
  'function_tools',
  'code_mode_tools',
  'human_input',
  'additionalDirectories',
];

/** The same for keys of one server. */
export const SERVER_POWER_FIELDS: readonly string[] = [
  'trust',
  'autoApprove',
  'alwaysAllow',
  'allowedTools',
  'default_tools_approval_mode',
  'sandbox',
];

/** The keys of a file that ask for more power, each as it is written there. */
export function powerIn(value: Value, fields: readonly string[] = POWER_FIELDS): readonly string[] {
  return fields.filter((field) => {
    const found = field
      .split('.')
      .reduce<unknown>((at, key) => (isObject(at) && Object.hasOwn(at, key) ? at[key] : undefined), value);
    return found !== undefined && found !== null && found !== false;
  });
}
