const NAME = String.raw`localhost|127\.0\.0\.1|\[::1\]`;
const HOST = new RegExp(`^(?:${NAME}|::1)$`);
const AUTHORITY = new RegExp(String.raw`^(?:${NAME})(?::\d{1,5})?$`);

/** Whether a host is this machine and nobody else; an IPv6 address may stand in brackets, as in a URL. */
export function isLoopback(host: string): boolean {
  return HOST.test(host);
}

/** The same for a host as `Host` and `Origin` have it: with a port or without one. */
export function isLoopbackAuthority(authority: string): boolean {
  return AUTHORITY.test(authority);
}
