/** Whether a host is this machine and nobody else; an IPv6 address may stand in brackets, as in a URL. */
export function isLoopback(host: string): boolean {
  return /^(?:localhost|127\.0\.0\.1|::1|\[::1\])$/.test(host);
}

/** The same for a host as `Host` and `Origin` have it: with a port or without one. */
export function isLoopbackAuthority(authority: string): boolean {
  return /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?$/.test(authority);
}
