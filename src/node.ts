export { listen } from './server/http/node-http.ts';
export type { Listening, ListenOptions } from './server/http/node-http.ts';
export { serveStdio } from './server/stdio.ts';
export type { StdioOptions } from './server/stdio.ts';

// Skills from the disk
export { defineSkill } from './skills/define-skill.ts';
export type { SkillOptions } from './skills/define-skill.ts';

// Who is calling
export { createApiKey, hashKey, isWellFormedKey } from './auth/api-key.ts';
export { combine } from './auth/sign-in.ts';
export type { CombineOptions, CredentialSignIn, IsGone, RequestHead, SignIn } from './auth/sign-in.ts';
export { createKeySignIn, type KeySignInOptions } from './auth/key-sign-in.ts';
export { createJwtSignIn, type JwtSignInOptions, type TokenParts } from './auth/jwt-sign-in.ts';
export type { IssuerOptions } from './auth/issuer.ts';
export type { FetchDocument, FetchedDocument } from './auth/fetch-document.ts';
export type { DeclaredRoute, Route, RouteAccess, RouteAnswer } from './server/http/routes.ts';

// Proxies of the environment
export { environmentProxies } from './net/proxies.ts';

// Clients of servers that are programs
export { connectMcpServer } from './client/stdio/connect-server.ts';
export { connectStdio } from './client/stdio/connect-stdio.ts';
export type { StdioClientOptions } from './client/stdio/connect-stdio.ts';
export type { ServerEntryInput } from './config/servers.ts';
