# Runs when a message is delivered: what Priory calls spam goes to Junk.
require ["fileinto", "mailbox"];

if header :is "X-Spam-Flag" "YES" {
  fileinto :create "Junk";
}
