/** The file that `toolcrib init --agent` writes. */
export const AGENT_FILE = 'agent.yaml';

/** A small agent that runs as it is: its server is this program with its safe tools. */
export function agentFile(name: string): string {
  return `# An agent: what it is told, its model, and which tools of which servers it may use.
# "toolcrib agents show agent.yaml" explains it; every key is in docs/agent-files.md.
name: ${JSON.stringify(name.replaceAll(/[^\w-]+/g, '-').slice(0, 64))}
description: Answers questions about dates and times.
instructions: |
  You answer questions briefly. Use your tools instead of guessing.

# Without a model here, the person who runs the agent says which: --model ollama/qwen3
# model: claude-sonnet-4-5

mcpServers:
  clock:
    command: npx
    args: [toolcrib, serve, --stdio]
    # Only these: names, patterns such as get_*, or "*" for all. Left out, none.
    tools: [get_time]
    # What this server says of its tools is believed: those that only read run without asking.
    trust: trusted
  # docs:
  #   url: https://docs.example/mcp
  #   headers: { authorization: "Bearer \${DOCS_TOKEN}" }
  #   tools: { allow: "*", deny: [delete_*] }

limits:
  turns: 10
`;
}
