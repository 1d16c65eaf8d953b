/** The chain of what operators do, and of what happens to the record itself. */
export const OPERATOR_CHAIN = '@operator';
