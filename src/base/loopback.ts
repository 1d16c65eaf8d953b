/** Whether a host is this machine and no other; an IPv6 address may stand in brackets, as in a URL. */
export function isLoopback(host: string): boolean {
  return /^(?:localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|::1|\[::1\])$/.test(host);
}

/** Whether that is a usual name of it, as `Host` and `Origin` have it: with a port or without one. */
export function isLoopbackAuthority(authority: string): boolean {
  return /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?$/.test(authority);
}
