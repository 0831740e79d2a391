# Runs when a message is delivered: files spam to Junk.
require ["fileinto", "mailbox"];

if header :is "X-Spam-Flag" "YES" {
  fileinto :create "Junk";
}
