export { createClientSignIn, type ClientSignIn } from './client/sign-in/sign-in.ts';
export type {
  ClientCredentialsGrant,
  EnterpriseGrant,
  RegisteredClient,
  SignInOptions,
  WorkloadGrant,
} from './client/sign-in/options.ts';
export type { Authorizer, Challenge, NeedsSignIn, OutgoingRequest } from './client/sign-in/authorizer.ts';

// Where tokens are kept
export { memoryCredentials, type CredentialStore } from './client/sign-in/credential-store.ts';
export { fileCredentials } from './client/sign-in/file-credentials.ts';
export { sealedStore } from './client/sign-in/sealed-store.ts';
