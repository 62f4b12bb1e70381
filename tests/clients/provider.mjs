// A provider of identities: the package `oidc-provider`, with one client (the hub) and one person, who logs in at once. The arguments are
// where the hub has browsers sent back to, and the secret of the hub. It prints its address when it listens.

import http from "node:http";
import { generateKeyPairSync } from "node:crypto";

import Provider from "oidc-provider";

const [redirect, secret] = process.argv.slice(2);
const { privateKey } = generateKeyPairSync("ed25519");
const server = http.createServer();
server.listen(0, "127.0.0.1", () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: "hub",
        client_secret: secret,
        redirect_uris: [redirect],
        id_token_signed_response_alg: "EdDSA",
      },
    ],
    pkce: { required: () => true },
    jwks: { keys: [{ ...privateKey.export({ format: "jwk" }), use: "sig", alg: "EdDSA", kid: "first" }] },
    cookies: { keys: ["of this test alone"] },
    conformIdTokenClaims: false,
    claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["groups"] },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_context, interaction) => `/person/${interaction.uid}` },
    findAccount: (_context, id) => ({
      accountId: id,
      claims: () => ({ sub: id, email: "ann@team.example", email_verified: true, groups: ["ops", "staff"] }),
    }),
    // Whoever is logged in agrees to all that the hub asks.
    loadExistingGrant: async (context) => {
      const { client, session } = context.oidc;
      const grant = new provider.Grant({ clientId: client.clientId, accountId: session.accountId });
      grant.addOIDCScope("openid profile email");
      await grant.save();
      return grant;
    },
  });
  const answer = provider.callback();
  server.on("request", (request, response) => {
    if (!request.url.startsWith("/person/")) return answer(request, response);
    const who = { login: { accountId: "ann" } };
    return provider.interactionFinished(request, response, who, { mergeWithLastSubmission: false });
  });
  console.log(issuer);
});
